import { IsDateString, IsEmail, IsOptional, IsString } from 'class-validator';

/** What a request books, and what the confirmation of it carries. */
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
