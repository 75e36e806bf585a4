import { IsDateString, IsEmail, IsOptional, IsString } from 'class-validator';

/** The body of a booking request, and the payload of its confirmation. */
export class AppointmentDto {
  @IsString()
  animal!: string;

  @IsEmail()
  owner!: string;

  @IsDateString()
  at!: string;

  @IsOptional()
  @IsString()
  phone?: string;
}
